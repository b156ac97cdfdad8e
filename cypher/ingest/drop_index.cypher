// drop_index: drop an index of ours
// mode: schema
// slot index: its name, escaped
DROP INDEX ${index} IF EXISTS
