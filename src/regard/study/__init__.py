"""The field's claims as runnable experiments: a table, a picture and a verdict each."""
