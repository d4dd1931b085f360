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

    /// The table of a join table's links, in the order of insertion.
    ///
    /// `firstOrder` is the position of the first object among those of the second one; `secondOrder` is the reverse.
    package static func links(of table: JoinTable) -> String { "scratch.\"links_\(table.name)\"" }
}
