-- PostgreSQL runs this when compose.yaml starts it for the first time, to give MLflow a separate database.
CREATE DATABASE mlflow;
