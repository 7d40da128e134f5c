"""The parts of bench/peers.py.

Standard library only: machine (environment, children, noise), contest (problems and rows), plan (the rows of an
image), promises (what has no peer), targets, table.
In the environment, each in a child process: pixels, solvers, compose, judge; worker is their front door.
"""
