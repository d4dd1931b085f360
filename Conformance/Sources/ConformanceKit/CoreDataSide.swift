import Foundation

/// What Apple's framework does in a case.
///
/// The one implementation that counts stands behind `canImport(CoreData)`; tests
/// bring one of their own.
public protocol CoreDataSide {
    /// Opens a store as it is, without any migration, fetches every object and follows every relationship.
    func record(store: URL, of version: String, in one: ConformanceCase) throws -> StoreRecord

    /// Migrates a store with `NSMigrationManager`, by the case's mapping or the inferred one.
    func migrate(_ store: URL, to output: URL, in one: ConformanceCase) throws

    /// Changes the store through the framework: saves a new object of each entity that can be made, then removes them,
    /// and saves one object again with the values that it has.
    ///
    /// - Returns: How many objects were saved.
    func change(store: URL, of version: String, in one: ConformanceCase) throws -> Int
}
