"""The site: everything that the project shows, as pages that any static host can serve:  make site"""
