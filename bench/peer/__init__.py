"""The parts of bench/peers.py.

Standard library only: machine (environment, children, noise), plan (which rows), table, targets.
In the environment, each in a child process: pixels, solvers, compose, judge; worker is their front door.
"""
