-- PostgreSQL runs this once, when compose.yaml starts it for the first time: MLflow gets a database apart from the studies.
CREATE DATABASE mlflow;
