from checkpoint_strategies import disk_is_not_waited_for  # noqa: F401
