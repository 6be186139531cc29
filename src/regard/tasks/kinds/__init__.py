"""Descriptions of the tasks that need no import of torch: one file per task, each with a function `register`."""
