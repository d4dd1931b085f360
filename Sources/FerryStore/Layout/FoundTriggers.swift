internal import FerryBase
internal import FerryModel

/// Core Data's own triggers of one derived attribute, taken from a store into a layout where they mean the same.
///
/// Their text is not understood, only searched: every table, column and entity number that it can name must be in the
/// new layout what it is in the store.
struct TriggersAsFound {
    private let key: PropertyKey
    private let source: StoreLayout
    private let destination: StoreLayout

    /// The layout that a store has, and the one that the triggers are to stand in.
    init(_ key: PropertyKey, from source: StoreLayout, into destination: StoreLayout) {
        self.key = key
        self.source = source
        self.destination = destination
    }

    /// The triggers, as they stand in the store.
    func triggers() throws(LayoutObstacle) -> [TriggerDefinition] {
        if let reason = source.model.changeOfDerivation(
            entity: key.entity, attribute: key.property, in: destination.model)
        {
            throw LayoutObstacle(reason)
        }
        let found = source.triggers.filter { Self.owner(of: $0, in: source.model) == key }
        guard !found.isEmpty else { throw LayoutObstacle("the store has no triggers for it that could be taken over") }
        guard source.table(of: key.entity)?.name == destination.table(of: key.entity)?.name,
            source.attributeColumns[key] == destination.attributeColumns[key]
        else { throw LayoutObstacle("its table or column gets another name") }
        for trigger in found { try check(trigger) }
        return found
    }

    /// The derived attribute that a trigger is named after; of several that fit, the longest name.
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
        // A text in quotes may hold names, too.
        let words = Set(SQLNames.names(in: trigger.sql).flatMap { [$0] + SQLNames.names(in: $0) })
        let (old, new) = (LayoutNames(of: source), LayoutNames(of: destination))
        let tables = old.owners.keys.filter { words.contains($0) }
        // The attribute itself and everything on the way to its value is under the names in the text.
        for table in tables.sorted() {
            guard new.owners[table] == old.owners[table] else {
                throw LayoutObstacle("its trigger \(trigger.name) names the table \(table), which is another one then")
            }
            for (column, owner) in (old.columns[table] ?? [:]).sorted(by: { $0.key < $1.key })
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

    /// A number in the text may be that of an entity, so all that it can be must stay; a text without any names none.
    private func checkNumbers(
        in trigger: TriggerDefinition, _ words: Set<String>, tables: [String]
    ) throws(LayoutObstacle) {
        let isNumbered = words.contains { word in
            // A text in quotes, or a number; digits within a name are none.
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

/// What each table and each column of a layout is there for, by their names in upper case.
private struct LayoutNames {
    var owners: [String: String] = [:]
    /// Table to column to property and type; the property is empty where no property has the column.
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

/// What is known of the triggers of derived attributes for which only Core Data can write them.
package enum FoundTriggers: Sendable {
    /// Nothing: a model that needs such triggers has no layout.
    case none
    /// They are there, in a store that is not at hand; the layout leaves them out.
    case assumed
    /// They are those of a store, which the new layout takes over where they mean the same in it.
    case of(StoreLayout)
}

extension LayoutBuilder {
    /// Adds the triggers that are carried over as they were found, after all others.
    mutating func addFoundTriggers(_ found: FoundTriggers) {
        switch found {
        case .assumed: return
        case .none: for key in foundOnly.map(\.key) { refuse(key) }
        case .of(let source) where model.knownSchema != nil:
            // The text is there; the values that stand in the store must be right under it.
            for key in foundOnly.map(\.key) {
                let isThere = layout.triggers.contains { TriggersAsFound.owner(of: $0, in: model) == key }
                let change = source.model.changeOfDerivation(entity: key.entity, attribute: key.property, in: model)
                if let obstacle = isThere ? change : "the store that it is to be like has no triggers for it" {
                    refuse(key, obstacle: obstacle)
                }
            }
        case .of(let source):
            for key in foundOnly.map(\.key) {
                do throws(LayoutObstacle) {
                    layout.triggers += try TriggersAsFound(key, from: source, into: layout).triggers()
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
