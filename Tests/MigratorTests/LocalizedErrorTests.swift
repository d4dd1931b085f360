internal import Ferry
internal import FerryBase
internal import Foundation
internal import Testing

@Suite("Errors as Foundation shows them")
struct LocalizedErrorTests {
    @Test("The description is the message, the suggestion the library's remedy, the reason an underlying error")
    func isLocalized() {
        let below = FerryError(.notFound, "There is no file.")
        let error: any LocalizedError = FerryError(
            .fileFailed, "The file cannot be read.", remedy: "Set \(setting: .damaged, .choice("drop")).", cause: below)
        #expect(error.errorDescription == "The file cannot be read.")
        #expect(error.recoverySuggestion == "Set `damaged = .drop`.")
        #expect(error.failureReason == "There is no file.")
        #expect((error as any Error).localizedDescription == "The file cannot be read.")
    }

    @Test("Without a remedy there is no suggestion, and a cause that could hold values of rows is not shown")
    func leavesOut() {
        struct Hidden: Error { let value = "secret" }
        let error: any LocalizedError = FerryError(.internalError, "It failed.", cause: Hidden())
        #expect(error.recoverySuggestion == nil && error.failureReason == nil)
    }
}
