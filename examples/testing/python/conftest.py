pytest_plugins = ["lockserver"]
