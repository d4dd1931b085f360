internal import FerryBase
internal import FerryModel

/// Core Data's own triggers of one derived attribute, copied from a store into a layout with the same meaning.
///
/// Without a parser: every table, column and entity number that the SQL may name must be equal in both layouts.
struct CopiedTriggers {
    private let key: PropertyKey
    private let source: StoreLayout
    private let destination: StoreLayout

    init(_ key: PropertyKey, from source: StoreLayout, into destination: StoreLayout) {
        self.key = key
        self.source = source
        self.destination = destination
    }

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
        let (old, new) = (LayoutNames(of: source), LayoutNames(of: destination))
        let tables = old.owners.keys.filter { words.contains($0) }
        // The SQL names the attribute's column and all columns on the path to its value.
        for table in tables.sorted() {
            guard new.owners[table] == old.owners[table] else {
                throw LayoutObstacle("its trigger \(trigger.name) names the table \(table), which is renamed")
            }
            for (column, owner) in (old.columns[table] ?? [:]).inOrder(by: { $0.key < $1.key })
            where words.contains(column) {
                guard !owner.isEmpty, new.columns[table]?[column] == owner else {
                    throw LayoutObstacle(
                        "its trigger \(trigger.name) names the column \(table).\(column), which changes")
                }
            }
        }
        var known = Set(tables + EntityTable.systemColumns + [trigger.name.uppercased(), key.property.uppercased()])
        for table in tables { known.formUnion((old.columns[table] ?? [:]).keys) }
        if let unknown = words.subtracting(known).filter({ $0.hasPrefix("Z") }).min() {
            throw LayoutObstacle("its trigger \(trigger.name) names \(unknown), which the model does not explain")
        }
        let roots = source.tables.values.filter { tables.contains($0.name.uppercased()) }.map(\.root)
        try checkNumbers(in: trigger, words.subtracting(known), tables: roots)
    }

    /// A number in the SQL may be an entity number, so all entity numbers that it may mean must be equal.
    private func checkNumbers(
        in trigger: TriggerDefinition, _ words: Set<String>, tables: [String]
    ) throws(LayoutObstacle) {
        let isNumbered = words.contains { word in
            // A text in quotes, or a number; not digits within a name.
            let isText = word.contains { !$0.isLetter && !$0.isNumber && $0 != "_" }
            return word != "0" && (isText ? word.contains(where: \.isNumber) : word.first?.isNumber == true)
        }
        guard isNumbered else { return }
        let families = tables.map { Set(source.model.family(of: $0)) }
        let named = source.entityNumbers.filter { words.contains(String($0.value)) }.map(\.key)
        for root in tables where Set(source.model.family(of: root)) != Set(destination.model.family(of: root)) {
            throw LayoutObstacle(
                "its trigger \(trigger.name) names entities by number, and others share the table of \(root)")
        }
        for entity in families.reduce(Set(named), { $0.union($1) }).sorted()
        where source.number(of: entity) != destination.number(of: entity) {
            throw LayoutObstacle("its trigger \(trigger.name) names entities by number, and that of \(entity) changes")
        }
    }
}

/// The meaning of each table and column of a layout, by upper-case name.
private struct LayoutNames {
    var owners: [String: String] = [:]
    /// Table to column to property and type; empty for columns without a property.
    var columns: [String: [String: String]] = [:]

    init(of layout: StoreLayout) {
        for table in layout.tables.values {
            let name = table.name.uppercased()
            owners[name] = table.root
            for column in table.columns { columns[name, default: [:]][column.name.uppercased()] = "" }
        }
        for join in layout.joinTables {
            owners[join.name.uppercased()] = "\(join.relationship.title) \(join.inverse.title)"
            for (role, column) in [
                ("first", join.firstColumn), ("second", join.secondColumn), ("first order", join.firstOrderColumn),
                ("second order", join.secondOrderColumn),
            ] {
                if let column { columns[join.name.uppercased(), default: [:]][column.uppercased()] = role }
            }
        }
        for (key, column) in layout.attributeColumns {
            add("\(key.title) \(column.type)", column.name, to: layout.table(of: key.entity)?.name)
        }
        for (key, storage) in layout.relationshipStorage {
            let owner = key.title
            switch storage {
            case .foreignKey(let table, let column, let entityColumn, let orderColumn):
                add(owner, column, to: table)
                add("\(owner) entity", entityColumn, to: table)
                add("\(owner) order", orderColumn, to: table)
            case .inverseless(let table, let column): add(owner, column, to: table)
            case .inverseForeignKey, .join: continue
            }
        }
    }

    private mutating func add(_ owner: String, _ column: String?, to table: String?) {
        guard let column, let table else { return }
        columns[table.uppercased(), default: [:]][column.uppercased()] = owner
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
                    layout.triggers += try CopiedTriggers(key, from: source, into: layout).triggers()
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
