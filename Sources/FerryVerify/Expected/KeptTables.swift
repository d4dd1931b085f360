internal import FerryBase
internal import FerryExpression
internal import FerryMapping
internal import FerryModel
internal import FerrySQLite
internal import FerryStore

/// The tables whose rows need no comparison: no statement of the step could write them, which an authorizer of SQLite has
/// seen to, and by the rules they have to be the source's.
///
/// The second is found here: every object keeps its key and entity number, and each column of the table is that of the
/// source, in the same place of the record.
struct KeptTables {
    private let context: VerificationContext
    private let carried: [CarriedRelation]

    init(in context: VerificationContext) throws {
        self.context = context
        carried = try context.relationForms.get().relations.compactMap {
            if case .carried(let links) = $0.form { links } else { nil }
        }
    }

    /// The part whose outcome a kept table gets.
    private static func name(of table: String) -> String { "kept:\(table)" }

    /// Whether a table is kept, so that its rows need not be compared.
    static func hold(_ table: String, in context: VerificationContext) -> Bool {
        context.progress.state.outcomes[name(of: table)] != nil
    }

    /// Records the kept tables; none of them is read, so that a renaming takes no longer in a large store.
    func find() throws {
        let kept = context.verification.kept
        let tables = try context.destinationTables.filter { try kept.contains($0.name) && isSame($0) }
        let joins = try carried.filter { try kept.contains($0.destination.table) && isSameJoin($0) }
        for table in tables.map(\.name) + joins.map(\.destination.table) {
            context.progress.state.outcomes[Self.name(of: table)] = PartOutcome(isShown: true)
        }
    }

    // MARK: Rules

    /// Whether all objects of a root entity's table are those of one table of the source, with their keys, and with
    /// their entity numbers where rows hold these.
    private func isCarried(_ root: String, withNumbers: Bool) throws -> Bool {
        guard let source = try sourceTable(of: root), context.newKeyMappings(into: root).isEmpty else { return false }
        let mappings = context.mappings(into: root)
        let family = context.sourceModel.family(of: source.root).filter {
            context.sourceModel.entities[$0]?.isAbstract != true
        }
        return try mappings.count == family.count && Set(mappings.map(\.source)) == Set(family)
            && mappings.allSatisfy { mapping in
                try mapping.keepsPrimaryKey && mapping.filter == nil && mapping.policy == nil
                    && mapping.iteration == nil && mapping.unique.isEmpty
                    && (!withNumbers
                        || context.sourceNumber(of: mapping.source)
                            == context.destinationNumber(of: mapping.destination))
            }
    }

    private func sourceTable(of root: String) throws -> EntityTable? {
        try context.sourceRoot(into: root).map { try context.sourceTable(of: $0) }
    }

    private func isSame(_ table: EntityTable) throws -> Bool {
        guard try isCarried(table.root, withNumbers: true), let source = try sourceTable(of: table.root) else {
            return false
        }
        let places = try RecordPlaces(source.name, as: table.name, in: context)
        let keys = try keyColumns(of: table, places)
        guard let keys, ["Z_PK", "Z_ENT", "Z_OPT"].allSatisfy({ places.isSame($0, as: $0) }) else { return false }
        return try context.mappings(into: table.root).allSatisfy { mapping in
            try isSame(table, mapping, source, places, besides: keys)
        }
    }

    /// Whether every column of an entity's rows, but those of keys, is that of the source in its place.
    private func isSame(
        _ table: EntityTable, _ mapping: ResolvedEntityMapping, _ source: EntityTable, _ places: RecordPlaces,
        besides keys: Set<String>
    ) throws -> Bool {
        var left = Set(table.columns.map(\.name)).subtracting(keys)
        for attribute in context.destinationModel.leaves(of: mapping.destination) where !attribute.isTransient {
            guard let column = context.destination.column(of: attribute.name, in: mapping.destination)?.name else {
                continue
            }
            left.remove(column)
            if context.destinationModel.isComputedByStore(attribute, of: mapping.destination)
                || context.destinationModel.isCarriedAsFound(attribute, of: mapping.destination)
            {
                guard isSameDerivation(attribute, mapping, column, places) else { return false }
                continue
            }
            let rule = mapping.attributes.first { $0.name == attribute.name }
            guard let expression = rule?.expression else {
                // A new column has no value in the records of old rows.
                guard rule?.defaultValue(of: attribute) == nil, places.isNew(column) else { return false }
                continue
            }
            guard let old = SourceAttribute(expression, mapping, context.sourceModel), old.isOwn,
                Self.keepsCells(of: old.attribute.type, as: attribute.type),
                old.attribute.allowsExternalStorage == attribute.allowsExternalStorage,
                let before = context.source.column(of: old.attribute.name, in: mapping.source)?.name,
                places.isSame(before, as: column)
            else { return false }
        }
        // The columns of other entities hold nothing of this entity's own objects.
        let own = context.source.knownColumns(of: source, in: mapping.source)
        return left.allSatisfy { column in
            places.isNew(column) || places.source(of: column).map { !own.contains($0) } ?? false
        }
    }

    /// Whether every value of a type is stored alike for another type.
    private static func keepsCells(of old: AttributeType, as new: AttributeType) -> Bool {
        let integers: [AttributeType] = [.integer16, .integer32, .integer64]
        guard let before = integers.firstIndex(of: old), let after = integers.firstIndex(of: new) else {
            return old == new
        }
        return before <= after
    }

    /// Whether a derived attribute is computed as in the source, and its column is that of the source in its place.
    private func isSameDerivation(
        _ attribute: Attribute, _ mapping: ResolvedEntityMapping, _ column: String, _ places: RecordPlaces
    ) -> Bool {
        let old = context.sourceModel.attribute(attribute.name, of: mapping.source)
        let before = context.source.column(of: attribute.name, in: mapping.source)?.name
        return old?.derivation == attribute.derivation && before.map { places.isSame($0, as: column) } == true
    }

    /// The columns of a table's foreign keys, if all are those of the source in their places; else nil.
    private func keyColumns(of table: EntityTable, _ places: RecordPlaces) throws -> Set<String>? {
        var found: Set<String> = []
        for key in context.foreignKeys[table.name] ?? [] {
            guard let keys = context.destination.relationshipStorage[key].map(StoredLinks.init),
                let before = try carriedKeys(keys.b, of: table.name, withNumbers: keys.entity != nil)?.source
            else { return nil }
            for (new, old) in [(keys.b, before.b), (keys.entity, before.entity), (keys.aOrder, before.aOrder)] {
                guard let new else { continue }
                guard let old, places.isSame(old, as: new) else { return nil }
                found.insert(new)
            }
        }
        return context.inverseless.contains { $0.table == table.name } ? nil : found
    }

    /// The keys of a column, if they are those of the source and lead to objects that keep their keys.
    private func carriedKeys(
        _ column: String, of table: String, withNumbers: Bool
    ) throws -> CarriedRelation.Keys? {
        for links in carried {
            guard let keys = links.keys.first(where: { $0.destination.table == table && $0.destination.b == column })
            else { continue }
            return try isCarried(bothEndsOf: links, withNumbers: withNumbers) ? keys : nil
        }
        return nil
    }

    private func isCarried(bothEndsOf links: CarriedRelation, withNumbers: Bool) throws -> Bool {
        try [links.a, links.b].allSatisfy {
            try isCarried(context.destinationModel.root(of: $0), withNumbers: withNumbers)
        }
    }

    /// Whether a join table's links are those of the source, in the same places of the record.
    private func isSameJoin(_ links: CarriedRelation) throws -> Bool {
        let (new, old) = (links.destination, links.source)
        guard try !new.areInRowsOfA && isCarried(bothEndsOf: links, withNumbers: false) else { return false }
        let places = try RecordPlaces(old.table, as: new.table, in: context)
        return [(old.a, new.a), (old.b, new.b), (old.aOrder, new.aOrder), (old.bOrder, new.bOrder)].allSatisfy {
            guard let column = $1 else { return true }
            return $0.map { places.isSame($0, as: column) } ?? false
        }
    }
}
