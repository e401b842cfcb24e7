"""The whole program on a real model: llama.cpp on loopback, both wires, nothing scripted."""
