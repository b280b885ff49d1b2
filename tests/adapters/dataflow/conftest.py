collect_ignore = ["beside_script.py", "pipeline_script.py"]  # they need DataFlow, and run in its environment
