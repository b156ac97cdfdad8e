// prepare_for_replanning: sample the indexes again and drop cached plans, as a load changes sizes
// mode: auto
CALL db.prepareForReplanning()
