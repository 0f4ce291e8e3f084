"""How a study is run: opened, measured, recorded, ended."""
