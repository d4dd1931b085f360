import Ferry
import FerryBase
import FerrySQLite
import Testing

@Suite("A full volume")
struct FullVolumeTests {
    @Test("Is named in the error, also where SQLite reports an I/O error", arguments: [13, 4874] as [Int32])
    func isNamed(code: Int32) {
        let error = FerryError.wrapping(DatabaseError(code: code, message: "disk I/O error"), on: "/App.sqlite")
        #expect(error.message.contains("The volume is full") && error.code == .databaseFailed)
    }

    @Test("Is not named for other I/O errors", arguments: [10, 10 | (3 << 8)] as [Int32])
    func isNotMeant(code: Int32) {
        let error = FerryError.wrapping(DatabaseError(code: code, message: "disk I/O error"), on: "/App.sqlite")
        #expect(!error.message.contains("The volume is full"))
    }
}
