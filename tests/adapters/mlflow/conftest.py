collect_ignore = ["mlflow_script.py"]  # it needs MLflow, and runs in its environment
