-- Run once, when the database server of compose.yaml is new: MLflow's tables apart from the studies'.
CREATE DATABASE mlflow;
