internal import FerryBase

/// A list to which several threads append while a test runs.
package final class SharedList<Element: Sendable>: Sendable {
    private let elements = Locked<[Element]>([])

    package init() {}

    package func append(_ element: Element) { elements.withLock { $0.append(element) } }

    package var all: [Element] { elements.withLock { $0 } }
}
