/// All shapes, in the order in which they run.
enum ShapeCatalog {
    static let named: [Shape] = FixtureShapes.all + OwnShapes.all + StorageShapes.all

    /// - Parameters:
    ///   - names: The names of shapes; none for all of them, with this number of random ones.
    ///   - seeds: The number of random shapes.
    ///   - isSmall: Whether only the shapes of the small form are meant.
    /// - Returns: The shapes.
    static func shapes(_ names: [String], seeds: Int, isSmall: Bool) -> [Shape] {
        if !names.isEmpty { return names.compactMap(shape) }
        let named = isSmall ? named.filter { $0.small != nil } : named
        return named + (0..<seeds).map { RandomShapes.shape(seed: UInt64($0 + 1)) }
    }

    static func shape(_ name: String) -> Shape? {
        if let shape = named.first(where: { $0.name == name }) { return shape }
        guard name.hasPrefix(RandomShapes.prefix), let seed = UInt64(name.dropFirst(RandomShapes.prefix.count)) else {
            return nil
        }
        return RandomShapes.shape(seed: seed)
    }
}
