internal import FerryBase

/// What several threads add to while a test runs.
package final class SharedList<Element: Sendable>: Sendable {
    private let elements = Locked<[Element]>([])

    package init() {}

    package func append(_ element: Element) { elements.withLock { $0.append(element) } }

    package var all: [Element] { elements.withLock { $0 } }
}
