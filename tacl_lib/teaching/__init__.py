"""For students and lecturers: widgets, lessons, checks that say what is wrong, coursework and its marks.

May import: all rooms.
"""
