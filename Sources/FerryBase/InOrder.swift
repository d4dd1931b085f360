extension Sequence {
    /// The elements in order, where equal ones keep theirs, for short lists: names, entities, tables.
    ///
    /// `sorted` is compiled anew for each type of element (docs/decisions/building.md); this is compiled once, and sorts
    /// places in the list. It is slower for each element, so the row path keeps `sorted`.
    @inline(never)
    @_semantics("optimize.sil.specialize.generic.never")
    package func inOrder(by areInOrder: (Element, Element) throws -> Bool) rethrows -> [Element] {
        let elements = Array(self)
        return try elements.indices.sorted { try areInOrder(elements[$0], elements[$1]) }.map { elements[$0] }
    }
}
