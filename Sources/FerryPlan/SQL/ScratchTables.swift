package import FerryMapping
package import FerryStore

/// The tables of the scratch database that a step's statements write and read.
package enum ScratchTables {
    /// The table of associations, with one row per source object and element: `(source, element, object, destination)`.
    ///
    /// `element` numbers a source object's elements; `object` is the element's own key if the iteration has objects.
    package static func association(of mapping: ResolvedEntityMapping) -> String {
        "scratch.association_\(mapping.position)"
    }

    package static func insertion(intoAssociationOf mapping: ResolvedEntityMapping) -> String {
        "INSERT INTO \(association(of: mapping)) (source, element, object, destination)"
    }

    /// The INSERT of one row into an association, with bound values.
    package static func associatedRow(of mapping: ResolvedEntityMapping) -> String {
        """
        \(insertion(intoAssociationOf: mapping))
        VALUES (?1, ?2, ?3, ?4)
        """
    }

    /// The table of a join table's links, in the order of insertion.
    ///
    /// `firstOrder` is the position of the first object among those of the second one; `secondOrder` is the reverse.
    package static func links(of table: JoinTable) -> String { "scratch.\"links_\(table.name)\"" }

    /// The statements that make the associations and links of a step.
    ///
    /// Lookups and the tables of policies, which no other statement reads, are made by the engine.
    package static func creation(for program: StepProgram, of step: ResolvedStep) -> [String] {
        var statements: [String] = []
        for (mapping, key) in zip(step.entityMappings, program.fills.keys) where key.storesAssociations {
            statements.append(
                "CREATE TABLE \(association(of: mapping)) " + associationColumns(of: mapping))
            guard step.hasPolicies else { continue }
            statements.append(
                "CREATE INDEX scratch.made_\(mapping.position) ON association_\(mapping.position) (destination)")
        }
        for table in program.fills.joinTables.filter({ $0.order == .gathered }).map(\.table) {
            statements.append(
                "CREATE TABLE \(links(of: table)) "
                    + "(first INTEGER, second INTEGER, firstOrder INTEGER, secondOrder INTEGER)")
            // Policies read the links of one object.
            for column in step.hasPolicies ? ["first", "second"] : [] {
                statements.append(
                    "CREATE INDEX scratch.\"\(column)_\(table.name)\" ON \"links_\(table.name)\" (\(column))")
            }
        }
        return statements
    }

    private static func associationColumns(of mapping: ResolvedEntityMapping) -> String {
        let columns = "element INTEGER, object INTEGER, destination INTEGER"
        if mapping.policy != nil {
            // A policy may associate objects of any entity, and several with one source object.
            return "(source INTEGER, \(columns), entity INTEGER, PRIMARY KEY (source, element)) WITHOUT ROWID"
        }
        // Without an iteration a source object has one row, with the source key as rowid.
        if mapping.iteration == nil { return "(source INTEGER PRIMARY KEY, \(columns))" }
        return "(source INTEGER, \(columns), PRIMARY KEY (source, element)) WITHOUT ROWID"
    }
}
