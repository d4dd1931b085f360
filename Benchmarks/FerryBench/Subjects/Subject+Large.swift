internal import FerryGenerate
internal import FerrySQLite
internal import FerryStore

extension Subject {
    static let wideColumns = 100

    /// Rows of a hundred attributes, all carried, one renamed.
    static let wide = Subject(
        old: ModelText.model([ModelText.entity("Wide", wideAttributes + [ModelText.attribute("first", "String")])]),
        new: ModelText.model([
            ModelText.entity(
                "Wide", wideAttributes + [ModelText.attribute("second", "String", renamedFrom: "first")])
        ]),
        mapping: """
            { "source": "Version1", "destination": "Version2",
              "entityMappings": [
                { "name": "WideToWide", "source": "Wide", "destination": "Wide",
                  "attributes": { "second": "$source.first" } } ] }
            """,
        options: { GenerationOptions(rowsOfEntity: ["Wide": Int64($0)], emptyPercent: 10) })

    private static let wideAttributes = (1..<wideColumns).map { number in
        ModelText.attribute("a\(number)", ["String", "Integer 64", "Double", "Date"][number % 4])
    }

    static let blobBytes = 1 << 20

    /// Rows of one binary value of a mebibyte and a name.
    static let blobs = Subject(
        old: ModelText.model([
            ModelText.entity(
                "Photo", [ModelText.attribute("content", "Binary"), ModelText.attribute("name", "String")])
        ]),
        new: ModelText.model([
            ModelText.entity(
                "Photo",
                [
                    ModelText.attribute("content", "Binary"),
                    ModelText.attribute("label", "String", renamedFrom: "name"),
                ])
        ]),
        mapping: """
            { "source": "Version1", "destination": "Version2",
              "entityMappings": [
                { "name": "PhotoToPhoto", "source": "Photo", "destination": "Photo",
                  "attributes": { "label": "$source.name" } } ] }
            """,
        options: { rows in
            GenerationOptions(
                rowsOfEntity: ["Photo": Int64(rows)], emptyPercent: 0,
                values: [
                    PropertyKey("Photo", "content"): { _, random in
                        // The generator draws words, not bytes: a mebibyte of single random bytes takes too long to
                        // make.
                        let words = (0..<(blobBytes / 8)).map { _ in random.next() }
                        return .blob(words.withUnsafeBytes { Array($0) })
                    }
                ])
        })
}
