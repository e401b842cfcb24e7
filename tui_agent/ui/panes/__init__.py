"""The parts of the workspace screen: what each shows, made from the projections."""
