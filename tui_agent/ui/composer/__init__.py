"""The parts of the composer: pastes as chips, history, kills, editing keys, the list of what is
queued, the external editor. `tui_agent.ui.panes.composer` puts them together."""
