"""Types that all other packages of `tuner` use: the study's specification, its trials, its errors."""
