"""Reports of a study: tables, pictures, pages, and the folder of artifacts. All are made from `StudyResults`."""
