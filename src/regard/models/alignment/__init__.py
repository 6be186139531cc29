"""Aligners: statistical models of which words of two parallel texts are translations of each other."""
