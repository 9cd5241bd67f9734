"""The engine moves time forward and decides nothing: tick() is collect, recover, release, cancel, claim, launch."""
