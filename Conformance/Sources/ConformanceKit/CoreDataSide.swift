import Foundation

/// The work of Apple's framework in a case.
///
/// The real implementation requires `canImport(CoreData)`; tests bring one of their own.
public protocol CoreDataSide {
    /// Opens a store unchanged, without any migration, fetches every object and follows every relationship.
    func record(store: URL, of version: String, in one: ConformanceCase) throws -> StoreRecord

    /// Migrates a store with `NSMigrationManager`, by the case's mapping or the inferred one.
    func migrate(_ store: URL, to output: URL, in one: ConformanceCase) throws

    /// Changes the store through the framework: saves a new object of each entity that can be made, then deletes these
    /// objects, and saves one object again with its own values.
    ///
    /// - Returns: The number of saved objects.
    func change(store: URL, of version: String, in one: ConformanceCase) throws -> Int
}
