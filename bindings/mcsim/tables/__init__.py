"""Result tables: columns, formats, text for people, and the charts of their kinds."""
