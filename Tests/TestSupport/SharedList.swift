internal import Foundation

/// What several threads add to while a test runs.
///
/// The thread sanitizer does not see a `Mutex` on Linux, and takes what it protects for a race.
package final class SharedList<Element: Sendable>: @unchecked Sendable {
    private var elements: [Element] = []
    private let lock = NSLock()

    package init() {}

    package func append(_ element: Element) { lock.withLock { elements.append(element) } }

    package var all: [Element] { lock.withLock { elements } }
}
