internal import FerryBase
internal import FerryMapping
internal import FerryModel
internal import FerryPlan
internal import FerrySQLite
internal import FerryStore

/// Finds the statements of a step in place that stands for several.
///
/// The steps are tried one by one on the schema alone, which tells the form that every table must have in the end: the
/// order of added columns, quotes that a renaming left. Then the one step is planned to leave exactly this, and tried,
/// too. So the rows are written once, and the schema is the same to the letter.
struct ComposedRun {
    let planned: InPlacePlanning
    private var store: Connection { planned.store }
    private var destination: StoreLayout { planned.destination }

    /// The plan that leaves the schema which the steps one by one leave.
    ///
    /// - Returns: Nil when no plan does; the steps then run one by one.
    /// - Throws: ``FerryError`` for what keeps one of the steps from running.
    func plan() throws -> InPlacePlan? {
        guard let parts = try rehearsal() else { return nil }
        var touched: Set<String> = []
        var computed: StoreLayout?
        for part in planned.step.parts {
            let next = try InPlacePlanning(part, on: parts.connection, like: computed)
            computed = next.destination
            let plan = try next.plan()
            let carried = plan.continued.filter { touched.contains($0.value) }.map(\.key)
            touched = plan.touched.union(carried)
            try parts.run(plan)
        }
        let wanted = try parts.entries()
        var shape = try self.shape(parts, touched: touched)
        // What altering gets wrong is made anew; that must be enough.
        for _ in 0..<2 {
            var plan = try planned.statements(leaving: shape)
            guard let trial = try rehearsal() else { return nil }
            try trial.run(plan)
            let found = try trial.entries()
            guard found != wanted else {
                try settleStatistics(of: &plan, trial, parts)
                return plan
            }
            guard learn(from: found.symmetricDifference(wanted), &shape) else { return nil }
        }
        return nil
    }

    /// Nil where the store's schema holds what cannot be made here.
    private func rehearsal() throws -> SchemaRehearsal? {
        do {
            return try SchemaRehearsal(of: store)
        } catch is DatabaseError {
            return nil
        }
    }

    private func shape(_ parts: SchemaRehearsal, touched: Set<String>) throws -> InPlaceShape {
        let catalog = try StoreCatalog(parts.connection)
        let names = Set(destination.tables.values.map(\.name) + destination.joinTables.map(\.name))
        var tables: [String: InPlaceShape.Table] = [:]
        for table in catalog.tables where names.contains(table.name) {
            tables[table.name.uppercased()] = .init(sql: table.sql, columns: table.columns.map(\.name))
        }
        // The app's own indexes stay where they are.
        let own = Set(planned.schema.indexes.map(\.name))
        let apps = try Set(StoreCatalog(store).indexes.map(\.name)).subtracting(own)
        return InPlaceShape(
            tables: tables, indexes: catalog.indexes.filter { names.contains($0.table) && !apps.contains($0.name) },
            touched: touched)
    }

    // MARK: Differences

    /// Notes what must be made anew; false when that would not help, or would lose something.
    private func learn(from differences: Set<SchemaRehearsal.Entry>, _ shape: inout InPlaceShape) -> Bool {
        for entry in differences {
            let name = entry.name.uppercased()
            switch entry.type {
            case "table":
                guard let table = shape.tables[name], isWhole(table, name) else { return false }
                shape.remade.insert(name)
            case "index":
                // The index of a primary key comes with its table.
                guard entry.sql != nil else { continue }
                guard shape.indexes.contains(where: { $0.name == entry.name }) else { return false }
                shape.rewritten.insert(entry.name)
            default: return false
            }
        }
        return true
    }

    /// Whether the new version knows every column of a table: others would lose their values.
    private func isWhole(_ table: InPlaceShape.Table, _ name: String) -> Bool {
        var known: Set<String> = ["Z_PK", "Z_ENT", "Z_OPT"]
        if let entity = destination.tables.values.first(where: { $0.name.uppercased() == name }) {
            known.formUnion(entity.columns.map { $0.name.uppercased() })
        } else if let join = destination.joinTables.first(where: { $0.name.uppercased() == name }) {
            known = Set(join.columns.map { $0.uppercased() })
        }
        return table.columns.allSatisfy { known.contains($0.uppercased()) }
    }

    /// A table or index that is made anew has no statistics; which one that is differs between one step and several.
    private func settleStatistics(
        of plan: inout InPlacePlan, _ trial: SchemaRehearsal, _ parts: SchemaRehearsal
    ) throws {
        guard let wanted = try parts.statisticsRows(), try trial.statisticsRows() != wanted else { return }
        plan.setStatistics(wanted.map { row in row.map(\.text) })
    }
}
