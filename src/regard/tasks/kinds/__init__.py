"""What is known of each task before torch is imported: one file a task, each with a function `register`."""
