collect_ignore = ["pipeline_script.py"]  # it needs DataFlow, and runs in its environment
