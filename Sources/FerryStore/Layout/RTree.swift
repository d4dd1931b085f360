internal import FerryBase
internal import FerryModel

/// An R-Tree over numbers of an entity's objects: a fetch index of that type.
///
/// A virtual table with a row for each object that has all of the numbers, kept up to date by three triggers.
/// `docs/store-format.md` says what of this is known from real stores.
package struct RTree: Sendable, Hashable {
    /// The entity that declares it.
    package var entity: String
    package var name: String
    /// The table of the entity, and the columns that are indexed.
    package var table: String
    package var columns: [String]
    /// The entity and everything below it, where the table holds others too.
    package var entityNumbers: [Int64]?
    /// The statement that makes the virtual table.
    package var sql: String
    package var triggers: [TriggerDefinition]

    /// `key` says how the first column is declared.
    init(
        _ entity: String, name: String, key: String, table: String, columns: [String], entityNumbers: [Int64]?
    ) {
        self.entity = entity
        self.name = name
        self.table = table
        self.columns = columns
        self.entityNumbers = entityNumbers
        let bounds = columns.flatMap { ["\($0)_MIN", "\($0)_MAX"] }
        sql = "CREATE VIRTUAL TABLE \(name) USING RTREE (\(([key] + bounds).joined(separator: ", ")))"
        triggers = []
        let places = "\(name) (\((["Z_PK"] + bounds).joined(separator: ", ")))"
        let values = columns.map { "NEW.\($0) ,NEW.\($0)" }.joined(separator: ", ")
        let condition = condition("NEW.")
        addTrigger(
            "INSERT", "INSERT ON \(table) FOR EACH ROW WHEN (\(condition))",
            "INSERT OR REPLACE INTO \(places) VALUES (NEW.Z_PK, \(values)) ;")
        addTrigger(
            "UPDATE", "UPDATE OF \(columns.joined(separator: ", ")) ON \(table) FOR EACH ROW",
            "DELETE FROM \(name) WHERE Z_PK = NEW.Z_PK; "
                + "INSERT INTO \(places) SELECT NEW.Z_PK, \(values) WHERE \(condition) ;")
        addTrigger("DELETE", "DELETE ON \(table) FOR EACH ROW", "DELETE FROM \(name) WHERE Z_PK = OLD.Z_PK ;")
    }

    private mutating func addTrigger(_ role: String, _ event: String, _ body: String) {
        let trigger = "\(name)_\(role)"
        triggers.append(
            TriggerDefinition(
                name: trigger, table: table, sql: "CREATE TRIGGER \(trigger) AFTER \(event) BEGIN \(body) END"))
    }

    /// What an object must have to be in the index: nothing that is nil lies anywhere.
    package func condition(_ prefix: String) -> String {
        let numbers = entityNumbers.map { $0.rowCondition(prefix) }
        return (columns.map { "\(prefix)\($0) NOT NULL" } + [numbers].compactMap { $0 }).joined(separator: " AND ")
    }

    /// The statement that enters the objects with keys above `:low` up to `:high`.
    package var fill: String {
        let values = columns.map { "\($0), \($0)" }.joined(separator: ", ")
        return "INSERT INTO main.\(name) SELECT Z_PK, \(values) FROM main.\(table) "
            + "WHERE Z_PK > :low AND Z_PK <= :high AND \(condition(""))"
    }

    /// The tables in which SQLite keeps the index.
    package var shadowTables: [String] { Self.shadowTables(of: name) }

    static func triggerNames(of name: String) -> [String] { ["_INSERT", "_UPDATE", "_DELETE"].map { name + $0 } }

    static func shadowTables(of name: String) -> [String] { ["_node", "_parent", "_rowid"].map { name + $0 } }

    /// Whether a virtual table of a store is an R-Tree that Core Data has made.
    static func isCoreDatas(_ name: String, sql: String) -> Bool {
        let words = SQLNames.names(in: sql)
        guard name.hasPrefix("Z_"), let using = words.firstIndex(of: "USING"), using + 2 < words.count else {
            return false
        }
        return words[using + 1] == "RTREE" && words[using + 2] == "Z_PK"
    }
}

extension LayoutBuilder {
    /// The key of a location attribute's user info that names the attributes of latitude and longitude.
    private static let locationKey = "_NSLocationAttributeDerivedComponents"

    /// R-Trees of location attributes, which have the attribute's name, and of fetch indexes.
    mutating func addRTrees() {
        for entity in order.numbered {
            for attribute in model.entities[entity]?.attributes ?? [] where attribute.isTransient {
                guard let components = attribute.userInfo[Self.locationKey] else { continue }
                let names = components.split { $0 == "," || $0 == " " }.map(String.init)
                add(
                    "Z_RT_\(entity)_\(attribute.name)", of: entity, key: "Z_PK", names, "the location \(attribute.name)"
                )
            }
            for index in model.entities[entity]?.fetchIndexes ?? [] { add(index, of: entity) }
        }
    }

    private mutating func add(_ index: FetchIndex, of entity: String) {
        guard index.elements.contains(where: { $0.kind == .rtree }) else { return }
        let names = index.elements.map { $0.property ?? "" }
        if names.count == 1, model.attribute(names[0], of: entity)?.userInfo[Self.locationKey] != nil {
            return  // The attribute has its R-Tree already.
        }
        guard index.elements.allSatisfy({ $0.kind == .rtree }), index.partialIndexPredicate?.isEmpty != false else {
            refuse(
                entity, nil, "the fetch index \(index.name) is partly an R-Tree, or one with a predicate",
                remedy: "Take the index out of the model for the migration.")
            return
        }
        add(
            "Z_\(entity)_\(index.name)", of: entity, key: "Z_PK INTEGER PRIMARY KEY", names,
            "the fetch index \(index.name)")
    }

    private mutating func add(_ name: String, of entity: String, key: String, _ attributes: [String], _ what: String) {
        let columns = attributes.compactMap { attribute in
            model.attribute(attribute, of: entity).flatMap { $0.type.isNumeric || $0.type == .date ? $0 : nil }
                .flatMap { layout.column(of: $0.name, in: entity)?.name }
        }
        // SQLite's R-Trees have five dimensions at most.
        guard (1...5).contains(columns.count), columns.count == attributes.count, Set(columns).count == columns.count,
            let table = layout.table(of: entity)?.name
        else {
            refuse(
                entity, nil, "\(what) is an R-Tree over something else than one to five stored numbers",
                remedy: "Correct it in the model or take it out for the migration.")
            return
        }
        layout.rTrees.append(
            RTree(
                entity, name: name, key: key, table: table, columns: columns,
                entityNumbers: model.root(of: entity) == entity ? nil : layout.numbers(ofFamily: entity)))
    }
}
