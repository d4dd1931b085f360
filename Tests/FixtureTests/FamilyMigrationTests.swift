import FerryBase
import TestSupport
import Testing

/// Families with real stores of several versions of one model.
///
/// With `FERRY_SWEEP=1` every store migrates to each of the 90 versions of one family, in place and copied; otherwise
/// each store migrates only to the version of the next store.
@Suite("Families of real stores", .enabled(if: Fixtures.areExpected, "\(Fixtures.skipReason)"))
struct FamilyMigrationTests {
    @Test(
        "Each store migrates to every later version, keeps every object and equals Core Data's own stores",
        arguments: StoreFamily.all)
    func migrates(_ family: StoreFamily) throws {
        let found = try FamilyRun(family).run()
        for line in found.failures { Issue.record("\(line)") }
        #expect(found.unreachable == [:])
    }
}
