internal import FerryBase

/// What the XML of a model does not hold.
extension SourceModelWriter {
    /// Compares a model with what the XML gives, and tells the parts of an archive that no model here has.
    static func notes(of model: ManagedObjectModel, readAgain again: ManagedObjectModel) -> [String] {
        var places: [ManagedObjectModel.Unheld.Kind: [String]] = [:]
        func note(_ kind: ManagedObjectModel.Unheld.Kind, _ place: String) { places[kind, default: []].append(place) }
        for part in model.unheld { note(part.kind, part.place) }
        for name in model.sortedEntityNames {
            guard let entity = model.entities[name], let read = again.entities[name] else { continue }
            for property in entity.fetchedProperties { note(.fetchedProperty, "\(name).\(property.name)") }
            let attributes = Dictionary(first: read.attributes.map { ($0.name, $0) })
            for attribute in entity.attributes {
                let place = "\(name).\(attribute.name)"
                let isOpen = attribute.archived["NSDefaultValue"] != nil
                if attribute.defaultValue != attributes[attribute.name]?.defaultValue || isOpen {
                    note(.defaultValue, place)
                }
                if attribute.archived["NSUserInfo"] != nil { note(.userInfo, place) }
            }
            let bounds = entity.relationships.filter { $0.maxCount < 0 || $0.maxCount >= Int(Int32.max) }
            for relationship in bounds { note(.bound, "\(name).\(relationship.name)") }
        }
        var notes = ManagedObjectModel.Unheld.Kind.allCases.compactMap { kind in
            places[kind].map { sentence(kind, Array(Set($0)).inOrder(by: codeUnitOrder)) }
        }
        if model.versionIdentifiers.count > 1 {
            notes.append("Of the version identifiers only the first is kept: \(model.versionIdentifiers[0]).")
        }
        return notes
    }

    private static func sentence(_ kind: ManagedObjectModel.Unheld.Kind, _ places: [String]) -> String {
        let shown = places.prefix(8).joined(separator: ", ") + (places.count > 8 ? " and \(places.count - 8) more" : "")
        return switch kind {
        case .defaultValue: "The XML of a model cannot express the default value of: \(shown)."
        case .userInfo: "User info that is not text is omitted: \(shown)."
        case .validation: "Validation rules that Xcode's editor does not have are omitted: \(shown)."
        case .fetchedProperty: "Fetched properties are omitted: \(shown)."
        case .fetchRequest: "Fetch request templates are omitted: \(shown)."
        case .bound:
            "A model made in code has another number for \"no maximum\" than Xcode's models. It is kept, and Xcode may "
                + "compile it to another version hash: \(shown)."
        }
    }
}

extension ManagedObjectModel {
    /// A part of an archived model that ``ManagedObjectModel`` does not hold; no version hash depends on it.
    package struct Unheld: Sendable, Hashable {
        package enum Kind: Sendable, Hashable, CaseIterable {
            case defaultValue, userInfo, validation, fetchedProperty, fetchRequest, bound
        }

        package var kind: Kind
        package var place: String

        package init(kind: Kind, place: String) {
            self.kind = kind
            self.place = place
        }
    }
}
