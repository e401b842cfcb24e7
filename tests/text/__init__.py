"""Tests of the room that makes foreign text safe."""
