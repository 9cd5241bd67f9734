"""The fault harness: the real daemon under real faults, and a checker that proves the promises afterwards."""
