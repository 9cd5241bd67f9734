"""The simulator: the real engine, rules and store under a virtual clock, seeded chance, faults and checkers.

It replaces clock, randomness, runners, processes and people; nothing it runs knows that it is simulated.
"""
