internal import FerryBase
internal import FerryModel

/// Core Data's own triggers of one derived attribute, copied from a store into a layout with the same meaning.
///
/// Without a parser: every table, column and entity number that the SQL may name must be equal in both layouts.
struct CopiedTriggers {
    let key: PropertyKey
    let source: StoreLayout
    let destination: StoreLayout

    func triggers() throws(LayoutObstacle) -> [TriggerDefinition] {
        if let reason = source.model.changeOfDerivation(
            entity: key.entity, attribute: key.property, in: destination.model)
        {
            throw LayoutObstacle(reason)
        }
        let found = source.triggers.filter { Self.owner(of: $0, in: source.model) == key }
        guard !found.isEmpty else { throw LayoutObstacle("the store has no triggers for it that could be copied") }
        guard source.table(of: key.entity)?.name == destination.table(of: key.entity)?.name,
            source.attributeColumns[key] == destination.attributeColumns[key]
        else { throw LayoutObstacle("its table or column is renamed") }
        for trigger in found { try check(trigger) }
        return found
    }

    /// Returns the derived attribute in a trigger's name; of several matches the longest.
    static func owner(of trigger: TriggerDefinition, in model: ManagedObjectModel) -> PropertyKey? {
        var owner: (key: PropertyKey, length: Int)?
        for entity in model.entities.values {
            for attribute in entity.attributes where attribute.isDerived {
                let prefix = "Z_DA_\(trigger.table)_\(entity.name)_\(attribute.name)_"
                guard trigger.name.hasPrefix(prefix), prefix.count > owner?.length ?? 0 else { continue }
                owner = (PropertyKey(entity.name, attribute.name), prefix.count)
            }
        }
        return owner?.key
    }

    private func check(_ trigger: TriggerDefinition) throws(LayoutObstacle) {
        // A text in quotes may contain names, too.
        let words = Set(SQLNames.names(in: trigger.sql).flatMap { [$0] + SQLNames.names(in: $0) })
        let (old, new) = (source.meanings, destination.meanings)
        let tables = old.keys.filter { words.contains($0) }.sorted()
        var known = Set(tables + EntityTable.systemColumns + [trigger.name.uppercased(), key.property.uppercased()])
        for table in tables {
            // The SQL names the attribute's column and all columns on the path to its value.
            for (column, meaning) in (old[table] ?? [:]).inOrder(by: { $0.key < $1.key }) {
                known.insert(column)
                guard column.isEmpty || words.contains(column), meaning.isEmpty || new[table]?[column] != meaning else {
                    continue
                }
                throw LayoutObstacle(
                    "its trigger \(trigger.name) names "
                        + (column.isEmpty
                            ? "the table \(table), which is renamed" : "the column \(table).\(column), which changes"))
            }
        }
        if let unknown = words.subtracting(known).filter({ $0.hasPrefix("Z") }).min() {
            throw LayoutObstacle("its trigger \(trigger.name) names \(unknown), which the model does not explain")
        }
        try checkNumbers(in: trigger, words.subtracting(known), tables)
    }

    /// A number in the SQL may be an entity number, so all entity numbers that it may mean must be equal.
    private func checkNumbers(
        in trigger: TriggerDefinition, _ words: Set<String>, _ tables: [String]
    ) throws(LayoutObstacle) {
        let isNumbered = words.contains { word in
            // A text in quotes, or a number; not digits within a name.
            let isText = word.contains { !$0.isLetter && !$0.isNumber && $0 != "_" }
            return word != "0" && (isText ? word.contains(where: \.isNumber) : word.first?.isNumber == true)
        }
        guard isNumbered else { return }
        var entities = Set(source.entityNumbers.filter { words.contains(String($0.value)) }.keys)
        for layout in [source, destination] {
            let roots = layout.tables.values.filter { tables.contains($0.name.uppercased()) }.map(\.root)
            entities.formUnion(roots.flatMap(layout.model.family))
        }
        for entity in entities.sorted() where source.number(of: entity) != destination.number(of: entity) {
            throw LayoutObstacle("its trigger \(trigger.name) names entities by number, and that of \(entity) changes")
        }
    }
}

extension StoreLayout {
    /// The meaning of each table, under an empty name, and of its columns, by upper-case names; empty for a column without
    /// a property.
    fileprivate var meanings: [String: [String: String]] {
        var meanings: [String: [String: String]] = [:]
        func add(_ meaning: String, _ column: String?, to table: String?) {
            if let column, let table { meanings[table.uppercased(), default: [:]][column.uppercased()] = meaning }
        }
        for table in tables.values {
            add(table.root, "", to: table.name)
            for column in table.columns { add("", column.name, to: table.name) }
        }
        for join in joinTables {
            add("\(join.relationship.title) \(join.inverse.title)", "", to: join.name)
            add("first", join.firstColumn, to: join.name)
            add("second", join.secondColumn, to: join.name)
            add("first order", join.firstOrderColumn, to: join.name)
            add("second order", join.secondOrderColumn, to: join.name)
        }
        for (key, column) in attributeColumns {
            add("\(key.title) \(column.type)", column.name, to: table(of: key.entity)?.name)
        }
        for (key, storage) in relationshipStorage {
            switch storage {
            case .foreignKey(let table, let column, let entityColumn, let orderColumn):
                add(key.title, column, to: table)
                add("\(key.title) entity", entityColumn, to: table)
                add("\(key.title) order", orderColumn, to: table)
            case .inverseless(let table, let column): add(key.title, column, to: table)
            case .inverseForeignKey, .join: continue
            }
        }
        return meanings
    }
}

/// The source of triggers that only Core Data can write.
package enum FoundTriggers: Sendable {
    /// No source: a model with such triggers has no layout.
    case none
    /// The caller assumes a store with the triggers; the layout omits them.
    case assumed
    /// A store, whose triggers the new layout copies if they keep their meaning.
    case of(StoreLayout)
}

extension LayoutBuilder {
    mutating func addFoundTriggers(_ found: FoundTriggers) {
        switch found {
        case .assumed: return
        case .none: for key in foundOnly.map(\.key) { refuse(key) }
        case .of(let source) where model.knownSchema != nil:
            // The known schema has the SQL; the store's values must be right for it.
            for key in foundOnly.map(\.key) {
                let isThere = layout.triggers.contains { CopiedTriggers.owner(of: $0, in: model) == key }
                let change = source.model.changeOfDerivation(entity: key.entity, attribute: key.property, in: model)
                if let obstacle = isThere ? change : "the template store has no triggers for it" {
                    refuse(key, obstacle: obstacle)
                }
            }
        case .of(let source):
            for key in foundOnly.map(\.key) {
                do throws(LayoutObstacle) {
                    layout.triggers += try CopiedTriggers(key: key, source: source, destination: layout).triggers()
                } catch {
                    refuse(key, obstacle: error.reason)
                }
            }
        }
    }

    private mutating func refuse(_ key: PropertyKey, obstacle: String? = nil) {
        let reason = foundOnly.first { $0.key == key }?.reason ?? ""
        refuse(
            key.entity, key.property, [reason, obstacle].compactMap { $0 }.joined(separator: ", and "),
            remedy: DerivedAttributes.remedy)
    }
}
