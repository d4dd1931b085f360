internal import FerryBase

extension ManagedObjectModel {
    /// Returns the first name of the model that Core Data does not allow, as text.
    ///
    /// Names become names of tables, columns and indexes, which Core Data writes into SQL without quotes: what is
    /// not a name must not get there.
    func nameProblem() -> String? {
        for entity in sortedEntityNames.compactMap({ entities[$0] }) {
            if let problem = nameProblem(of: entity) { return problem }
        }
        for name in composites.keys.inOrder(by: codeUnitOrder) {
            for element in composites[name] ?? [] where !Self.isName(element.name) {
                return Self.nameProblem("the element", name, element.name)
            }
        }
        return nil
    }

    private func nameProblem(of entity: Entity) -> String? {
        if !Self.isName(entity.name) { return Self.nameProblem("the entity", nil, entity.name) }
        let names: [(kind: String, names: [String])] = [
            ("the attribute", entity.attributes.map(\.name)), ("the relationship", entity.relationships.map(\.name)),
            ("the fetched property", entity.fetchedProperties.map(\.name)),
            ("the fetch index", entity.fetchIndexes.map(\.name)),
        ]
        for (kind, names) in names {
            if let name = names.first(where: { !Self.isName($0) }) { return Self.nameProblem(kind, entity.name, name) }
        }
        return nil
    }

    private static func nameProblem(_ kind: String, _ owner: String?, _ name: String) -> String {
        let shown = name.unicodeScalars.prefix(100).map { $0.escaped(asASCII: false) }.joined()
        let title = owner.map { "'\($0).\(shown)'" } ?? "'\(shown)'"
        return "the name of \(kind) \(title) has characters other than letters, digits and underscores"
    }

    /// Whether a text consists of letters, digits and underscores, at least one of them.
    package static func isName(_ text: some StringProtocol) -> Bool {
        !text.isEmpty
            && text.unicodeScalars.allSatisfy { scalar in
                switch scalar {
                case "a"..."z", "A"..."Z", "0"..."9", "_": true
                default: !scalar.isASCII && scalar.properties.isXIDContinue
                }
            }
    }
}
