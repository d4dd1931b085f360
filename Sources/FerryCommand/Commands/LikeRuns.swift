/// Neighbours that differ in nothing that is told of them.
enum LikeRuns {
    /// So many are told one by one, since they take no more lines than their sum.
    static let fewest = 4

    /// The elements in their order, cut into runs: each holds one element, or at least ``fewest`` that are alike.
    ///
    /// - Parameters:
    ///   - elements: What is told.
    ///   - areAlike: Whether the second of two neighbours could be told with the first.
    /// - Returns: The runs; all of them together are the elements.
    static func of<Element>(_ elements: [Element], areAlike: (Element, Element) -> Bool) -> [ArraySlice<Element>] {
        var runs: [ArraySlice<Element>] = []
        var start = 0
        for index in elements.indices {
            let isLast = index + 1 == elements.count
            guard isLast || !areAlike(elements[index], elements[index + 1]) else { continue }
            let run = elements[start...index]
            runs += run.count >= fewest ? [run] : run.indices.map { elements[$0...$0] }
            start = index + 1
        }
        return runs
    }
}
