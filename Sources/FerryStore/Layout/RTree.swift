internal import FerryBase
internal import FerryModel

/// An R-Tree over numeric attributes of an entity: a fetch index of that type.
///
/// A virtual table with a row for each object without NULL in the columns, updated by three triggers.
/// `docs/store-format.md` says what is known from real stores.
package struct RTree: Sendable, Hashable {
    package var entity: String
    package var name: String
    package var table: String
    package var columns: [String]
    /// The numbers of the entity and its subentities; nil if the table has no other entities.
    package var entityNumbers: [Int64]?
    package var sql: String
    package var triggers: [TriggerDefinition]

    /// `key` is the declaration of the first column.
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

    /// Returns the condition of rows in the index: no NULL in the columns, and a matching entity number.
    package func condition(_ prefix: String) -> String {
        let numbers = entityNumbers.map { $0.rowCondition(prefix) }
        return (columns.map { "\(prefix)\($0) NOT NULL" } + [numbers].compactMap { $0 }).balanced(by: "AND")
    }

    /// The statement that inserts the objects with keys above `:low` up to `:high`.
    package var fill: String {
        let values = columns.map { "\($0), \($0)" }.joined(separator: ", ")
        return "INSERT INTO main.\(name) SELECT Z_PK, \(values) FROM main.\(table) "
            + "WHERE Z_PK > :low AND Z_PK <= :high AND \(condition(""))"
    }

    package var shadowTables: [String] { Self.shadowTables(of: name) }

    static func triggerNames(of name: String) -> [String] { ["_INSERT", "_UPDATE", "_DELETE"].map { name + $0 } }

    static func shadowTables(of name: String) -> [String] { ["_node", "_parent", "_rowid"].map { name + $0 } }

    /// Whether a virtual table of a store is an R-Tree of Core Data.
    static func isCoreDatas(_ name: String, sql: String) -> Bool {
        let words = SQLNames.names(in: sql)
        guard name.hasPrefix("Z_"), let using = words.firstIndex(of: "USING"), using + 2 < words.count else {
            return false
        }
        return words[using + 1] == "RTREE" && words[using + 2] == "Z_PK"
    }
}

extension LayoutBuilder {
    /// The user info key of a location attribute with the names of its latitude and longitude attributes.
    private static let locationKey = "_NSLocationAttributeDerivedComponents"

    /// Adds R-Trees of location attributes, which have the attribute's name, and of fetch indexes.
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
                remedy: "Remove the index from the model for the migration.")
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
        // SQLite's R-Trees have at most five dimensions.
        guard (1...5).contains(columns.count), columns.count == attributes.count, Set(columns).count == columns.count,
            let table = layout.table(of: entity)?.name
        else {
            refuse(
                entity, nil, "\(what) is an R-Tree over something other than one to five stored numbers",
                remedy: "Correct it in the model or remove it for the migration.")
            return
        }
        layout.rTrees.append(
            RTree(
                entity, name: name, key: key, table: table, columns: columns,
                entityNumbers: model.root(of: entity) == entity ? nil : layout.numbers(ofFamily: entity)))
    }
}
