import Ferry

/// Does what the mapping says, and counts the words of each note.
struct NoteToNotePolicy: EntityMigrationPolicy {
    func createDestinationInstances(
        forSource source: SourceObject, in mapping: PolicyEntityMapping, manager: MigrationManager
    ) throws {
        try defaultPolicy.createDestinationInstances(forSource: source, in: mapping, manager: manager)
        let words = try source.string(forKey: "text")?.split(whereSeparator: \.isWhitespace).count ?? 0
        for note in try manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [source]) {
            try note.setValue(.integer(Int64(words)), forKey: "words")
        }
    }
}
