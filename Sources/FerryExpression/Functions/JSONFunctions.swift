internal import FerryBase

extension ScalarFunction {
    static let json: [ScalarFunction] = [
        // An element's JSON text and the keys of a path into it; a missing key gives nil, as does a key of no object.
        ScalarFunction("ferry_json_get", title: "JSON", arguments: -1) { arguments, result throws(FerryError) in
            guard let first = arguments.first, let text = try first.text("JSON") else { return }
            var cursor = JSONCursor(text)
            var value: JSONValue
            do throws(JSONCursor.Problem) {
                value = JSONValue(try cursor.value())
            } catch {
                throw .json(error, at: cursor.position)
            }
            for argument in arguments.dropFirst() {
                guard let key = try argument.text("JSON"), let member = value.member(key) else { return }
                value = member
            }
            value.read(into: &result)
        }
    ]
}
